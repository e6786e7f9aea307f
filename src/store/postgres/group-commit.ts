import { DatabaseError } from 'pg';
import type { Work } from '../group-commit.ts';
import type { Statement } from '../operation.ts';
import { tallied } from '../operations/housekeeping.ts';
import { StoreUnavailable } from '../driver.ts';
import { Tallies } from '../tallies.ts';
import type { Connections } from './connections.ts';
import { explained, failureKind } from './failures.ts';
import { inLockstep } from './lockstep.ts';

/** Fails (division by zero) if there is no such config, since its answer comes with that of the commit. */
const addToUses = `
  with used as (update configs set uses = uses + $2 where id = $1 returning 1) select 1 / count(*) from used`;
const divisionByZero = '22012';

/** Runs writes in one transaction. Returns their results. */
export function committed(connections: Connections, works: readonly Work[]): Promise<unknown[]> {
  return connections.patiently(() =>
    connections.transaction(async (transaction) => {
      const tallies = new Tallies();
      const operations = works.map((work) => work(tallies));
      const commit = async (rest: readonly Statement[]) => {
        const { statements, uses } = tallied(tallies);
        const used: Statement[] = uses.map((values) => ({ sql: addToUses, values, wants: 'nothing' }));
        try {
          await transaction.commit([...rest, ...statements, ...used]);
        } catch (error) {
          const isRefused = error instanceof DatabaseError && error.code !== undefined;
          if (isRefused && error.code === divisionByZero) {
            const ids = uses.map(([id]) => id).join(', ');
            throw new Error(`One of these configs was never saved: ${ids}.`, { cause: error });
          }
          if (isRefused && failureKind(error) !== 'lost') throw error;
          // Without an answer from the server it may have been committed, so it must not run again.
          const { message } = explained(error, connections.place) as Error;
          const sentence = message.replace(/\.?$/, '.');
          throw new StoreUnavailable(`${sentence} Whether the last writes were stored is not known.`, {
            cause: error,
          });
        }
      };
      return inLockstep(operations, (statements) => transaction.send(statements), commit);
    }),
  );
}
