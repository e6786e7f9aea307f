import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loud, nothing, post, run, serve, workplace } from '../commands/tools.ts';
import { eventually } from '../fixtures/eventually.ts';

/** A container may have none of the devices, though the system has them. */
function makeLoopDevices(): void {
  const devices = [
    ['/dev/loop-control', 'c', 10, 237],
    ...Array.from({ length: 8 }, (_, n) => [`/dev/loop${n}`, 'b', 7, n]),
  ];
  for (const device of devices) if (!existsSync(String(device[0]))) execFileSync('mknod', device.map(String));
}

/** A disk of its own, with a connector on it. */
async function onDisk() {
  const { folder, write } = await workplace();
  const [image, disk] = [join(folder, 'image'), join(folder, 'disk')];
  writeFileSync(image, '');
  truncateSync(image, 64 * 1024 ** 2);
  mkdirSync(disk);
  execFileSync('mkfs.ext4', ['-q', '-m', '0', image]);
  makeLoopDevices();
  execFileSync('mount', ['-o', 'loop,errors=remount-ro', image, disk]);
  onTestFinished(() => void execFileSync('umount', ['--lazy', disk]));
  const file = await write(
    'config.yaml',
    loud(disk).replace('receiver: {', 'receiver: { retryFor: 0s,') + nothing,
  );
  const { app, connector, lines } = await serve(file);
  onTestFinished(async () => void (await connector.stop()));
  const saying = (msg: string) => lines().filter((line) => line.msg === msg);
  const readyz = async () => (await fetch(new URL('/readyz', app.receiverUrl))).status;
  /** What everybody is told, with no event coming. */
  const expectTold = async (part: string) => {
    await eventually(() => expect(saying('not ready')).toHaveLength(1));
    const cause = expect.stringContaining(part);
    expect(saying('not ready')).toMatchObject([{ level: 'error', part: 'store', cause }]);
    const { code, out } = await run(['status', '--config', file]);
    expect({ code, out }).toEqual({ code: 4, out: cause });
    expect(out).toMatch(/\d+ events? today/);
    const admin = saying('ready')[0]!['admin'] as string;
    const shown = async (path: string) => (await fetch(`${admin}${path}`)).text();
    expect(await shown('/metrics')).toContain('candidate_connector_ready{part="store"} 0');
    const page = (await shown('/')).replaceAll(/<[^>]+>/g, '');
    expect(page).toMatch(new RegExp(`The store cannot be written: [^\n]*${part}`));
  };
  return { disk, app, saying, readyz, expectTold };
}

test('a disk that the system has made read-only is told: in the log, the metric, status and the page', async () => {
  const { disk, app, readyz, expectTold } = await onDisk();
  expect((await post(app, { candidateId: 'Ana' })).status).toBe(202);

  // As after an error of the disk.
  execFileSync('mount', ['-o', 'remount,abort', disk]);
  await expectTold('its file system is read-only');
  expect(await readyz()).toBe(503);
  expect((await post(app, { candidateId: 'Ben' })).status).toBe(503);
});

test('a full disk is told while the WAL has room for events that come, which are taken', async () => {
  const { disk, app, saying, readyz, expectTold } = await onDisk();
  // Until the WAL is written over from its start.
  for (let n = 0; n < 550; n += 1)
    expect((await post(app, { candidateId: `Ana ${n}`, note: 'x'.repeat(30_000) })).status).toBe(202);
  const { bavail, bsize } = statfsSync(disk);
  const ballast = join(disk, 'ballast');
  writeFileSync(ballast, Buffer.alloc(bavail * bsize - 512 * 1024));

  await expectTold('is full. Make room, but leave each file whose name begins so');
  expect(await readyz()).toBe(200);
  expect((await post(app, { candidateId: 'Ben' })).status).toBe(202);
  rmSync(ballast);
  await eventually(() => expect(saying('ready again')).toHaveLength(1));
});
