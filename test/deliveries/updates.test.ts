import { expect, onTestFinished, test } from 'vitest';
import { startSlack } from '../../sandbox/slack.ts';
import { base, post, serving, settled, workplace } from '../commands/tools.ts';
import { eventually } from '../fixtures/eventually.ts';

test.each([
  ['updateBy', 'one message tells of both', ['Completed'], 0],
  ['threadBy', 'one thread has both', ['Completed', 'DidNotTake'], 1],
])(
  'with %s an earlier event that is tried again waits while a later one may have arrived: %s',
  async (by, _, texts, answers) => {
    const { folder, write } = await workplace();
    const slack = await startSlack();
    onTestFinished(() => slack.close());
    const file = await write(
      'config.yaml',
      `${base(folder)}
sinks:
  slack:
    connector: slack
    token: xoxb-sandbox-token
    apiUrl: '${slack.url}'
    timeout: 2s
    retry: { minDelay: 300ms, maxDelay: 300ms }
rules:
  - { name: told, when: {}, then: [{ sink: slack, channel: '#hiring', ${by}: x, text: '{{ event.status }}' }] }
`,
    );
    const app = await serving(file);
    slack.faults.only = ['chat.postMessage'];
    // Certainly not posted; posted, and nobody knows.
    slack.faults.once({ kind: 'status', status: 425 }, { kind: 'drop', commit: true });
    for (const [count, status] of ['DidNotTake', 'Completed'].entries()) {
      await post(app, { candidateId: 'dana', status });
      await eventually(() => expect(slack.calls.length).toBeGreaterThan(count));
    }
    await settled(file);
    expect(slack.messages.map(({ text }) => text)).toEqual(texts);
    expect(slack.messages.filter(({ thread_ts }) => thread_ts !== undefined)).toHaveLength(answers);
  },
);
