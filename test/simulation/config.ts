import type { Config } from '../../src/config/config.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { AnyConnector } from '../../src/connector.ts';

/** A look-up of the events of one test. What is given up soon is done with before what came earlier. */
const lookupText = (testId: number, waitFor: string) => `{
    url: "https://api.example.com/{{ event.candidateId }}/{{ event.status }}",
    when: { testId: ${testId} },
    fields: { score: { at: /score, type: number } },
    until: [score],
    waitFor: ${waitFor}, timeout: 5s, rate: 10/s, retry: { minDelay: 1s, maxDelay: 20s } }`;

const configText = (holds: boolean) => `
store: { retention: 365d }
hours:
  early: { timezone: Etc/UTC, days: [mon, tue, wed, thu, fri, sat, sun], from: "00:00", to: "09:01" }
sinks:
  chat: { connector: chat, retry: { minDelay: 1s, maxDelay: 20s, giveUpAfter: 20h }, timeout: 5s }
  sheet: { connector: sheet, retry: { minDelay: 1s, maxDelay: 20s, giveUpAfter: 20h }, timeout: 5s }
  mail: { connector: mail, retry: { minDelay: 1s, maxDelay: 20s, giveUpAfter: 20h }, timeout: 5s, onUnknown: ${holds ? 'hold' : 'resend'} }
lookups:
  api: ${lookupText(2, '60s')}
  brief: ${lookupText(3, '3s')}
rules:
  - name: best
    when: { any: [{ api.score: { gt: 50 } }, { brief.score: { gt: 50 } }] }
    then: [ { sink: chat, place: "#best", text: "{{ event.candidateId }}/{{ event.status }}" } ]
  - name: all
    when: {}
    then:
      - { sink: chat, place: "#{{ event.testId }}", text: "{{ event.candidateId }}/{{ event.status }}" }
      - { sink: sheet, place: sheet, text: "{{ event.candidateId }}/{{ event.status }}" }
      - { sink: mail, place: mail, text: "{{ event.candidateId }}/{{ event.status }}" }
      - sink: chat
        place: "#digest"
        text: "{% for event in events %}{{ event.candidateId }}/{{ event.status }} {% endfor %}"
        digest: { every: 1m, by: testId, max: 3 }
      - { sink: chat, place: "#early", text: "{{ event.candidateId }}/{{ event.status }}", hours: early }
`;

const read = new Map<boolean, Config>();

/** By these connectors. It is read once, which takes a fifth of a run. `holds`: what is unknown of the mail's. */
export function configWith(
  connectors: ReadonlyMap<string, AnyConnector>,
  lookup: AnyConnector,
  holds: boolean,
): Config {
  const config = read.getOrInsertComputed(holds, () =>
    parseConfig(configText(holds), 'simulation.yaml', { env: {}, connectors }),
  );
  const sinks = config.sinks
    .entries()
    .map(([name, sink]) => [name, { ...sink, connector: connectors.get(name)! }] as const);
  const lookups = config.lookups
    .entries()
    .map(([name, one]) => [name, { ...one, connector: lookup }] as const);
  return { ...config, sinks: new Map(sinks), lookups: new Map(lookups) };
}
