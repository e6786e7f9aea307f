import { writeFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startSlack } from '../../sandbox/slack.ts';
import { eventually } from '../fixtures/eventually.ts';
import { base, endpoint, post, run, serving, settled, workplace } from './tools.ts';

const gone = { kind: 'status', status: 410 } as const;
const toSlack = (channel: string) => `{ sink: slack, channel: '${channel}' }`;
/** A call that fails as long as it is a PUT and the endpoint is broken. */
const toHook = (path: string, method = 'POST', says = 'this') =>
  `{ sink: hook, path: /${path}, method: ${method}, body: { says: ${says} } }`;

/** A rule with some actions; `by`: has the file say others, and calls a command. */
async function withActions(...first: string[]) {
  const [slack, hook] = [await startSlack({ channels: ['hiring', 'design'] }), await endpoint()];
  onTestFinished(() => slack.close());
  const { folder, write } = await workplace();
  let used = toSlack('#design');
  const config = (actions: readonly string[]) => `${base(folder)}
sinks:
  slack: { connector: slack, token: '${slack.token}', apiUrl: '${slack.url}' }
  hook: { connector: webhook, url: '${hook.url}', allowPrivate: true }
  renamed: { connector: webhook, url: '${hook.url}', allowPrivate: true }
rules:
  - { name: told, when: {}, then: [ ${actions.join(', ')} ] }
  - { name: elsewhere, when: { testId: 1 }, then: [ ${used} ] }
`;
  const file = await write('config.yaml', config(first));
  const app = await serving(file);
  const command = (...argv: string[]) => run([...argv, '--config', file]);
  let isBroken = true;
  hook.faults.decide = ({ name }) => (isBroken && name === 'PUT' ? gone : null);
  return {
    command,
    tell: async () => {
      const { eventId } = await post(app, { candidateId: 'Dana' });
      return (n: number) => `dlv_${eventId.slice(4)}_${n}`;
    },
    done: () => settled(file),
    /** Has another rule, of which nothing comes, use this from the next edit on. */
    alsoUse: (action: string) => void (used = action),
    write: (...actions: string[]) => writeFile(file, config(actions)),
    by: async (actions: readonly string[], ...argv: string[]) => {
      isBroken = false;
      await writeFile(file, config(actions));
      const { err } = await command(...argv);
      await settled(file);
      return err;
    },
    channels: () => slack.messages.map(({ channelName }) => channelName),
    typeOf: (id: string) =>
      /"type":"(.*?)"/.exec(hook.calls.find(({ deliveryId }) => deliveryId === id)?.body ?? '')?.[1],
    /** The calls that arrived, by path and what they say. */
    calls: () =>
      hook.calls.map(({ path, body }) => `${path.replace(/.*\//, '')} ${/"says":"(\w+)"/.exec(body)?.[1]}`),
  };
}

/** The same, with an event whose deliveries have ended: a PUT is dead. */
async function withDead(...first: string[]) {
  const made = await withActions(...first);
  const delivery = await made.tell();
  await made.done();
  const replay = (...actions: string[]) => made.by(actions, 'replay', '--dead');
  return { ...made, delivery, replay };
}

describe('replay by a rule that has other actions today', () => {
  test('tells nobody twice: neither where the wrong one was taken out, nor where they have another order', async () => {
    const { delivery, replay, channels } = await withDead(toSlack('#hirng'), toSlack('#design'));
    expect(channels()).toEqual(['design']);
    expect(await replay(toSlack('#design'))).toContain(
      `${delivery(1)}: what today's rule told asks of slack is what other deliveries of the event are about`,
    );
    expect(await replay(toSlack('#design'), toSlack('#hiring'))).toBe('');
    expect(channels()).toEqual(['design', 'hiring']);
  });

  test('takes none where it cannot tell which of them is gone', async () => {
    const { delivery, replay, calls } = await withDead(toHook('gone', 'PUT'), toHook('there'));
    expect(await replay(toHook('there'))).toContain(
      `${delivery(1)}: what today's rule told asks of hook is what`,
    );
    expect(await replay(toHook('better'), toHook('there'))).toBe('');
    expect(calls().toSorted()).toEqual(['better this', 'there this']);
  });

  test('goes where it was meant to go: where they changed places, and where one was put in before it', async () => {
    const swapped = await withDead(toHook('mine', 'PUT'), toHook('theirs'));
    expect(await swapped.replay(toHook('theirs'), toHook('mine', 'PUT'))).toBe('');
    expect(swapped.calls()).toEqual(['theirs this', 'mine this']);
    const further = await withDead(toHook('mine', 'PUT'));
    expect(await further.replay(toHook('leads'), toHook('mine', 'PUT', 'more'))).toBe('');
    expect(further.calls()).toEqual(['mine more']);
  });

  test('says what it was meant to say where the actions of one place changed their order', async () => {
    const { replay, calls } = await withDead(toHook('one', 'PUT', 'mine'), toHook('one', 'POST', 'theirs'));
    expect(await replay(toHook('one', 'POST', 'theirs'), toHook('one', 'PUT', 'mine'))).toBe('');
    expect(calls()).toEqual(['one theirs', 'one mine']);
  });

  test('stays a digest where the action beside it tells the same place of each event', async () => {
    const [digest, each] = [
      '{ sink: hook, method: PUT, digest: { every: 5s } }',
      '{ sink: hook, method: PUT }',
    ];
    const { delivery, replay, typeOf } = await withDead(digest, each);
    expect(await replay(each, digest)).toBe('');
    expect([1, 2].map((n) => typeOf(delivery(n)))).toEqual(['candidate.digest', 'candidate.completed']);
  });

  test('tells one channel once where two that were mistyped became it', async () => {
    const { delivery, replay, channels } = await withDead(toSlack('#hirng'), toSlack('#hirnig'));
    expect(await replay(toSlack('#hiring'))).toContain(
      `${delivery(2)}: what today's rule told asks of slack is what`,
    );
    expect(channels()).toEqual(['hiring']);
  });
});

test('resend sends each message again to those who had it, wherever its action stands today', async () => {
  const { by, delivery, calls } = await withDead(toHook('mine'), toHook('theirs'));
  const both = [delivery(1), delivery(2)];
  expect(await by([toHook('theirs'), toHook('mine')], 'resend', both[0]!)).toBe('');
  expect(calls().slice(2)).toEqual(['mine this']);
  expect(await by([toHook('theirs'), toHook('mine')], 'resend', both[1]!)).toBe('');
  expect(calls().slice(3)).toEqual(['theirs this']);
});

test('resend sends to the same place where the action beside it is gone and another one was put in', async () => {
  const [mine, theirs] = [toHook('one', 'POST', 'mine'), toHook('one', 'POST', 'theirs')];
  const { by, delivery, calls } = await withDead(mine, theirs);
  expect(await by([toHook('other'), toHook('one', 'POST', 'more')], 'resend', delivery(1))).toBe('');
  expect(calls().slice(2)).toEqual(['one more']);
});

/** The same, where the first one was discarded before it was sent. */
async function withDiscarded(...first: string[]) {
  const made = await withActions(...first);
  const { command, done, tell } = made;
  await command('pause', 'hook');
  const delivery = await tell();
  expect((await command('discard', delivery(1))).out).toBe(`${delivery(1)} is discarded\n`);
  await command('resume', 'hook');
  await done();
  return { ...made, delivery };
}

test('replay sends nothing to those whose own message was discarded', async () => {
  const { by, calls, delivery } = await withDiscarded(toHook('theirs'), toHook('mine', 'PUT'));
  expect(await by([toHook('theirs')], 'replay', '--dead')).toContain(
    `${delivery(2)}: what today's rule told asks of hook is what other deliveries`,
  );
  expect(await by([toHook('theirs'), toHook('right')], 'replay', '--dead')).toBe('');
  expect(calls()).toEqual(['right this']);
});

test('apply tells what was discarded, and not what the same sink has told, in whatever order they are', async () => {
  const { by, calls, command, write } = await withDiscarded(toHook('mine'), toHook('theirs'));
  expect(calls()).toEqual(['theirs this']);
  const apply = ['apply', '--rule', 'told', '--discarded'];
  await write(toHook('theirs'), toHook('right'));
  expect((await command(...apply, '--dry-run')).out).toContain('asks for 1 delivery, for 1 of 1 event');
  expect(await by([toHook('theirs'), toHook('right')], ...apply, '--yes')).toBe('');
  expect(calls()).toEqual(['theirs this', 'right this']);
});

test('apply tells what was discarded, and not what its sink has told by the name that it had then', async () => {
  const { by, calls } = await withDiscarded(toHook('mine'), toHook('theirs'));
  const renamed = [toHook('mine'), toHook('theirs')].map((one) => one.replace('hook', 'renamed'));
  expect(await by(renamed, 'apply', '--rule', 'told', '--discarded', '--yes')).toBe('');
  expect(calls()).toEqual(['theirs this', 'mine this']);
});

test('apply tells through another sink what went out by a mistaken one that other rules use still', async () => {
  const { by, calls, alsoUse } = await withDiscarded(toHook('mine'), toHook('theirs'));
  alsoUse(toHook('elsewhere'));
  const corrected = [toHook('mine'), toHook('theirs')].map((one) => one.replace('hook', 'renamed'));
  expect(await by(corrected, 'apply', '--rule', 'told', '--discarded', '--yes')).toBe('');
  expect(calls().slice(1).toSorted()).toEqual(['mine this', 'theirs this']);
});

test('apply tells what was discarded also where another message of the rule was sent again', async () => {
  const { by, calls, command, done, tell } = await withActions(toHook('mine'), toHook('theirs'));
  await command('pause', 'hook');
  const delivery = await tell();
  await eventually(async () =>
    expect((await command('discard', delivery(1))).out).toBe(`${delivery(1)} is discarded\n`),
  );
  await command('resume', 'hook');
  await done();
  await command('resend', delivery(2));
  await done();
  expect(calls()).toEqual(['theirs this', 'theirs this']);
  expect(
    await by([toHook('mine'), toHook('theirs')], 'apply', '--rule', 'told', '--discarded', '--yes'),
  ).toBe('');
  expect(calls().slice(2)).toEqual(['mine this']);
});

test('a notice is replayed to those who lack it, and not a second time to the others', async () => {
  const [hook, ops] = [await endpoint(), await startSlack({ channels: ['ops', 'leads'] })];
  onTestFinished(() => ops.close());
  const { folder, write } = await workplace();
  const config = (...channels: string[]) => `${base(folder)}
sinks:
  hook: { connector: webhook, url: '${hook.url}', allowPrivate: true }
  slack: { connector: slack, token: '${ops.token}', apiUrl: '${ops.url}' }
rules: [ { name: told, when: {}, then: [ { sink: hook } ] } ]
alerts: { dead: { then: [ ${channels.map(toSlack).join(', ')} ] } }
`;
  const file = await write('config.yaml', config('#osp', '#ops'));
  const app = await serving(file);
  hook.faults.decide = () => gone;
  await post(app, { candidateId: 'Dana' });
  const channels = () => ops.messages.map(({ channelName }) => channelName);
  const dead = async () => (await run(['events', '--notices', '--json', '--config', file])).out;
  await eventually(async () => expect(await dead()).toContain('"state":"dead"'), { timeout: 20_000 });
  await eventually(() => expect(channels()).toEqual(['ops']), { timeout: 20_000 });
  await writeFile(file, config('#ops'));
  const refused = await run(['replay', '--dead', '--rule', 'alerts.dead', '--config', file]);
  expect(refused.err).toContain('is what other deliveries of the notice are about');
  await writeFile(file, config('#ops', '#leads'));
  const replayed = await run(['replay', '--dead', '--rule', 'alerts.dead', '--wait', '--config', file]);
  expect(replayed.err).toBe('');
  expect(channels()).toEqual(['ops', 'leads']);
}, 60_000);
