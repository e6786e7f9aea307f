import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RowRequest } from '../../connectors/google-sheets/message.ts';
import type { Grid } from '../../sandbox/sheets/grid.ts';
import { runs } from '../fixtures/runs.ts';
import {
  add,
  calls,
  connected,
  given,
  noteOf,
  requestFor,
  sandbox,
  sink,
  update,
  withSheets,
} from './google-sheets-fixtures.ts';

withSheets();

const people = [
  ['Candidate', 'Status', 'Notes', 'Delivery'],
  ['a', 'old', 'about a', 'dlv_00000000000000000000000000_1'],
  ['b', 'old', 'about b', 'dlv_00000000000000000000000000_2'],
  ['c', 'old', 'about c', 'dlv_00000000000000000000000000_3'],
] as const;

async function inUse(headerRow = 1) {
  await connected({}, { headerRow });
  const tab = given('Results', people, headerRow);
  return { tab };
}

const rowsOf = (tab: Grid) => tab.rows.map((row) => row.join());

describe('a row that is added to a tab with merged cells', () => {
  test.for<[string, (tab: Grid) => void, number]>([
    ['in a column of ours', (tab) => tab.merge({ top: 3, bottom: 5, left: 1, right: 1 }), 6],
    ['in a column of theirs', (tab) => tab.merge({ top: 2, bottom: 6, left: 2, right: 2 }), 7],
    ['in the column Delivery', (tab) => tab.merge({ top: 3, bottom: 4, left: 3, right: 3 }), 5],
    ['beside the table', (tab) => tab.merge({ top: 3, bottom: 4, left: 7, right: 8 }), 4],
    ['in one row', (tab) => tab.merge({ top: 3, bottom: 3, left: 0, right: 1 }), 4],
    ['below the table', (tab) => tab.merge({ top: 6, bottom: 8, left: 0, right: 1 }), 4],
  ])('stands below those that reach over its end: %s', async ([, merge, at]) => {
    const { tab } = await inUse();
    merge(tab);
    const merged = tab.merges[0]!;
    const height = merged.bottom - merged.top;
    const requests = [add('d'), add('e'), add('f')];
    expect(noteOf(await sink.deliver(requests[0]!))).toBe('');
    expect((await sink.deliverMany!(requests.slice(1))).map(noteOf)).toEqual(['', '']);
    expect(rowsOf(tab).slice(at)).toEqual(
      requests.map(({ deliveryId, message }) => `${String(message.row['Candidate'])},new,,${deliveryId}`),
    );
    // Beside the table they grow, as they do with the rows that people insert.
    expect(tab.merges[0]!.bottom - tab.merges[0]!.top).toBe(height + (merged.left > 3 ? 3 : 0));
  });

  test('stands below a header that is two rows high', async () => {
    const tab = given('Results', [['Candidate', 'Status', 'Delivery']]);
    for (const column of [0, 1, 2]) tab.merge({ top: 0, bottom: 1, left: column, right: column });
    for (const name of ['d', 'e']) expect(noteOf(await sink.deliver(add(name)))).toBe('');
    expect(tab.rows.map(([name = '']) => name)).toEqual(['Candidate', '', 'd', 'e']);
  });

  test('gets a new column behind a merged header, once', async () => {
    const { tab } = await inUse();
    tab.merge({ top: 0, bottom: 0, left: 2, right: 3 });
    const request = add('d');
    expect(noteOf(await sink.deliver(request))).toBe('');
    expect(noteOf(await sink.deliver(add('e')))).toBe('');
    expect(tab.rows[0]).toEqual(['Candidate', 'Status', 'Notes', '', 'Delivery']);
    expect(rowsOf(tab)[4]).toBe(`d,new,,,${request.deliveryId}`);
    expect(await sink.find!(request)).toMatchObject({ found: { range: "'Results'!A5:E5" } });
  });

  test('needs no more calls where they are above the header', async () => {
    const { tab } = await inUse(3);
    tab.merge({ top: 0, bottom: 1, left: 0, right: 9 });
    await sink.deliver(add('d'));
    calls();
    expect(noteOf(await sink.deliver(add('e')))).toBe('');
    expect(calls()).toBe('values.batchGet spreadsheets.batchUpdate values.batchGet');
  });

  test.for<[string, number, RegExp]>([
    ['Status', 1, /column Status .*merged with others. Unmerge/],
    ['Delivery', 3, /not there any more: somebody removed, merged/],
  ])('says that its %s was swallowed, where somebody merged cells just then', async ([, column, words]) => {
    const { tab } = await inUse();
    await sink.deliver(add('first'));
    sandbox.person.before('a write', () => tab.merge({ top: 4, bottom: 6, left: column, right: column }));
    expect(noteOf(await sink.deliver(add('d')))).toMatch(words);
    const next = add('e');
    expect(noteOf(await sink.deliver(next))).toBe('');
    expect(rowsOf(tab)[8]).toBe(`e,new,,${next.deliveryId}`);
  });
});

test.for<[string, Parameters<Grid['merge']>[0], RegExp, string]>([
  ['a value', { top: 1, bottom: 2, left: 1, right: 1 }, /the column Status .*merged/, 'b,,about b,dlv'],
  ['the id', { top: 1, bottom: 2, left: 3, right: 3 }, /not there any more: .*merged/, 'b,new,about b,'],
  ['all of ours', { top: 2, bottom: 2, left: 0, right: 3 }, /not there any more: .*merged/, 'b,,,'],
])(
  'an update says that %s was not kept in merged cells, and harms nothing',
  async ([, box, words, cells]) => {
    const { tab } = await inUse();
    tab.merge(box);
    const before = rowsOf(tab);
    const note = noteOf(await sink.deliver(update('b', 'new')));
    expect(note).toMatch(words);
    expect(note).not.toMatch(/lost|goes on/);
    expect(rowsOf(tab)[2]).toMatch(cells);
    const others = (rows: readonly string[]) => rows.filter((_, row) => row !== 2);
    expect(others(rowsOf(tab))).toEqual(others(before));
    expect(sandbox.calls.filter((call) => call === 'spreadsheets.batchUpdate')).toHaveLength(1);
  },
);

describe('rows between merged cells', () => {
  const kinds = ['merge', 'merge', 'row', 'type', 'sort', 'move', 'insert', 'unmerge'] as const;
  const index = fc.nat({ max: 7 });
  const edit = fc.record({ kind: fc.constantFrom(...kinds), at: index, to: index, size: index });
  const asked = fc.record({ name: fc.constantFrom('a', 'b', 'c', 'd'), isKeyed: fc.boolean() });
  const round = fc.record({
    messages: fc.array(asked, { minLength: 1, maxLength: 3 }),
    edits: fc.array(fc.option(edit), { maxLength: 3 }),
  });
  type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never;

  /** Edits below the header, of which those of what nobody sees in the sheet are no edits. */
  function carryOut(tab: Grid, { kind, at, to, size }: Edit, mark: string): void {
    const width = tab.rows[0]!.length;
    const [row, column] = [1 + (at % Math.max(1, tab.rows.length)), to % width];
    if (kind === 'merge') {
      const right = Math.min(width - 1, column + (size % 3));
      tab.merge({ top: row, bottom: row + (size >> 1), left: column, right });
    }
    if (kind === 'row') tab.insertRows(row, 1);
    if (kind === 'sort') tab.sortBy(column, size % 2 === 0);
    if (kind === 'move') tab.moveColumn(at % width, column);
    if (kind === 'insert' && width < 8) {
      tab.insertColumns(column, 1);
      tab.write(0, column, [[`mine ${mark}`]]);
    }
    if (kind === 'unmerge') tab.merges = tab.merges.slice(1);
    const own = tab.rows[0]!.findIndex((name) => String(name).startsWith('mine'));
    if (kind === 'type' && row < tab.rows.length && own !== -1 && tab.at(row, own) === '') {
      tab.write(row, own, [[`typed ${mark}`]]);
    }
  }

  const typedIn = (tab: Grid) =>
    tab.rows
      .flat()
      .map(String)
      .filter((cell) => cell.startsWith('typed'));

  /** What of a row is not as it should be, with no word of it in its delivery. */
  function faultsOf(
    { deliveryId, message }: RowRequest,
    note: string,
    rows: readonly { [name: string]: unknown }[],
  ) {
    const ours = rows.filter(({ Delivery }) => Delivery === deliveryId);
    const wrong = Object.keys(message.row).filter((name) => ours[0] && ours[0][name] !== message.row[name]);
    const isSaid = (name: string) => ours[0]![name] === '' && /merged|emptied|goes on changing/.test(note);
    return [
      ...(ours.length > 1 ? ['is there twice'] : []),
      ...(ours.length === 0 && !/merged|not there any more/.test(note) ? ['is not there'] : []),
      ...wrong.filter((name) => !isSaid(name)),
    ];
  }

  const homes: { [kind: string]: string } = {
    key: 'Candidate',
    row: 'Candidate',
    status: 'Status',
    dlv: 'Delivery',
  };

  /** Cells that have a value of ours under another header. */
  const strays = (rows: readonly { [name: string]: unknown }[]) =>
    rows.flatMap((row) =>
      Object.entries(row).filter(([name, cell]) => {
        const home = homes[/^[a-z]+/.exec(String(cell))?.[0] ?? ''];
        return home !== undefined && home !== name;
      }),
    );

  test('say what of them was not kept, and harm nothing of a person who merges and edits at any moment', async () => {
    let run = 0;
    const property = fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 5 }), async (rounds) => {
      const title = `Run ${(run += 1)}`;
      const tab = given(title, [['Candidate', 'Status', 'mine', 'Delivery']]);
      tab.rowCount = 40;
      for (const [nth, { messages, edits }] of rounds.entries()) {
        const left = edits.entries();
        let typed = typedIn(tab);
        sandbox.person.meanwhile = (call) => {
          const [n = 0, next] = (call === 'spreadsheets.get' ? null : left.next().value) ?? [];
          if (!next) return;
          const before = typedIn(tab);
          carryOut(tab, next, `${run}-${nth}-${n}`);
          const after = typedIn(tab);
          const kept = typed.filter((text) => !before.includes(text) || after.includes(text));
          typed = [...kept, ...after.filter((text) => !before.includes(text))];
        };
        const requests = messages.map(({ name, isKeyed }, m) => {
          const Candidate = isKeyed ? `key ${name}` : `row ${run}-${nth}-${m}`;
          const row = { Candidate, Status: `status ${run}-${nth}-${m}` };
          return requestFor({ tab: title, row, ...(isKeyed && { key: 'Candidate' }) });
        });
        const notes = (await sink.deliverMany!(requests)).map(noteOf);
        sandbox.person.meanwhile = () => {};
        const rows = sandbox.rows(title);
        const all = notes.join(' ');
        expect(all).not.toContain('not delivered');
        // Several of one key end as one row, with what the last of them says.
        const faults = requests.flatMap((request, m) => {
          const { row, key } = request.message;
          const isLast =
            requests.findLastIndex((one) => one.message.row['Candidate'] === row['Candidate']) === m;
          return isLast || key === undefined ? faultsOf(request, notes[m]!, rows) : [];
        });
        expect(faults).toEqual([]);
        expect(all.includes('goes on changing') ? [] : strays(rows)).toEqual([]);
        expect(typed.filter((text) => !typedIn(tab).includes(text) && !all.includes('lost'))).toEqual([]);
      }
    });
    await fc.assert(property, runs(15));
  });
});
