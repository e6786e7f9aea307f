import { email } from '../../../../connectors/email/index.ts';
import type { Fault } from '../../../../sandbox/faults.ts';
import { SmtpSandbox } from '../../../../sandbox/smtp.ts';
import { type AnyConnector, defineConnector } from '../../../../src/connector.ts';
import { among } from '../../foresight-cases.ts';
import { type Outside, type Played, placeTexts, told, type World } from '../play.ts';

/** An action as the config has it. */
export interface MailAction {
  readonly to: readonly string[];
  readonly text: string;
  readonly digest?: object;
}

/** An address that the server refuses for good. */
export const gone = 'gone@example.com';

/** The mail server of the sandbox, sent to by the connector itself. It puts off, refuses, and loses answers. */
export class PlayedMail implements Played<MailAction> {
  readonly name = 'email';
  readonly options: object;
  readonly server = new SmtpSandbox({ refuse: { [gone]: '550 5.1.1 No such user' } });
  /** The places in `server.mails` of those that the connector was told of. */
  readonly heard = new Set<number>();
  /** Of those whose connection was dropped once they were taken. */
  readonly #dropped = new Set<number>();
  readonly holds: boolean;
  faults = 0;
  readonly #world: World;
  #starting: Promise<unknown> | null = null;

  /** As if nobody kept which recipients were done. */
  readonly #forgetful: boolean;

  constructor(world: World, forgetful = false) {
    this.#world = world;
    this.#forgetful = forgetful;
    this.holds = world.random() < 0.3;
    const onUnknown = this.holds ? 'hold' : 'resend';
    this.options = {
      url: 'smtp://localhost:25',
      from: 'hiring@example.com',
      name: 'connector.example.com',
      concurrency: 1,
      onUnknown,
    };
    this.server.faults.decide = ({ name }) => this.#fault(name);
  }

  action(random: () => number): MailAction {
    const address = () => `${among(random, placeTexts)}@example.com`;
    const others = [[], [address()], ['cc@example.com'], [gone]];
    const to = [address(), ...among(random, others)];
    return random() < 0.25
      ? { to, text: `{% for event in events %}${told}{% endfor %}`, digest: { every: '5m' } }
      : { to, text: told };
  }

  connector(outside: Outside): AnyConnector {
    const connect: typeof email.connect = async (options, parts) => {
      await this.#world.atOnce(() => (this.#starting ??= this.server.start()));
      const sink = await email.connect(
        { ...options, url: { ...options.url, port: this.server.port } },
        parts,
      );
      const { mails } = this.server;
      const deliver: typeof sink.deliver = async (request) => {
        let [from, to] = [0, 0];
        const outcome = await outside(async () => {
          await this.#pause();
          from = mails.length;
          const asked = this.#forgetful ? { ...request, progress: null } : request;
          const end = await this.#world.atOnce(() => sink.deliver(asked));
          to = mails.length;
          await this.#pause();
          return end;
        });
        for (let place = from; place < to; place += 1) if (!this.#dropped.has(place)) this.heard.add(place);
        return outcome;
      };
      return {
        deliver,
        check: async () => [],
        close: () => sink.close(),
      };
    };
    return defineConnector({ ...email, connect });
  }

  close(): Promise<void> {
    return this.server.close();
  }

  #fault(name: string): Fault | null {
    const roll = this.#world.random() / this.faults;
    if (!(roll < 1)) return null;
    if (name === 'DATA') {
      if (roll < 0.4) {
        this.#dropped.add(this.server.mails.length);
        return { kind: 'drop', commit: true };
      }
      return roll < 0.6
        ? { kind: 'drop', commit: false }
        : { kind: 'status', status: 451, body: '4.3.0 Later' };
    }
    if (name === 'RCPT' && roll < 0.4) return { kind: 'status', status: 450, body: '4.2.0 Greylisted' };
    if (name === 'CONNECT' && roll < 0.2) return { kind: 'drop', commit: false };
    return null;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#world.clock.after(1 + this.#world.random() * 300, resolve));
  }
}
