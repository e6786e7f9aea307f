import { expect, onTestFinished } from 'vitest';
import { SmtpSandbox } from '../../sandbox/smtp.ts';
import { TestingService } from '../../sandbox/testing-service.ts';
import type { Facts } from '../../src/model.ts';
import { post, telling } from '../commands/tools.ts';
import { eventually } from '../fixtures/eventually.ts';

export interface Told {
  readonly decided: boolean;
  readonly facts: Facts;
  readonly deliveries: readonly { readonly state: string }[];
}

/** A connector that asks a testing service about each candidate, and tells an endpoint of it. */
export async function asking({ waitFor = '20s', maxDelay = '50ms', admin = '{ port: 0 }', more = '' } = {}) {
  const [api, smtp] = [await new TestingService().start(), await new SmtpSandbox().start()];
  onTestFinished(async () => void (await Promise.all([api.close(), smtp.close()])));
  const rules = `
lookups:
  candidate:
    url: "${api.url}/candidates/{{ event.candidateId }}"
    auth: { oauth2: { tokenUrl: "${api.url}/token", grant: password, username: ${api.username}, password: ${api.password} } }
    fields:
      name: { at: /name, personal: true }
      email: { at: /email, personal: true }
      score: { at: /result/score, type: number }
      report: { at: /reportUrl, type: url }
    until: [score]
    waitFor: ${waitFor}
    allowPrivate: true
    rate: 1000/s
    retry: { minDelay: 20ms, maxDelay: ${maxDelay} }
    ${more}
rules:
  - { name: known, when: { candidate.score: { gte: 0 } }, then: [ { sink: ats, body: { text: "{{ candidate.name | default: 'nobody' }}: {{ candidate.score }}" } } ] }
  - { name: no-score, when: { candidate.score: unknown }, then: [ { sink: ats, body: { text: "unknown" } } ] }
  - { name: written, when: { testId: 7 }, then: [ { sink: mail, to: "{{ candidate.email | default: 'nobody@example.com' }}" } ] }
  - { name: misaddressed, when: { testId: 8 }, then: [ { sink: mail, to: "{{ candidate.name }}" } ] }
  - { name: none, when: { candidate.score: absent }, then: [ { sink: ats, body: { text: "none of {{ candidate.name | default: 'nobody' }}" } } ] }
`;
  const mail = `, mail: { connector: email, url: '${smtp.url()}', from: hiring@example.com }`;
  const running = await telling({ rules, sinks: mail, admin });
  const { app, http, command } = running;
  const told = () => http.calls.map(({ body }) => (JSON.parse(body) as { text: string }).text);
  /** Posts an event, and resolves when somebody was told of it. */
  const about = async (candidateId: string, testId = 1234567, status = 'Completed') => {
    const before = http.calls.length;
    const { eventId } = await post(app, { candidateId, testId, status });
    await eventually(() => expect(http.calls.length).toBe(before + 1));
    const { out } = await command('event', eventId, '--json');
    return { eventId, text: told().at(-1), ...(JSON.parse(out) as Told) };
  };
  return { api, told, about, ...running };
}
