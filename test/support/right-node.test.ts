import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { eventually } from '../fixtures/eventually.ts';

const root = join(import.meta.dirname, '../..');
const olderNode = `--import=data:text/javascript,${encodeURIComponent(
  'Object.defineProperty(process, "versions", { value: { ...process.versions, node: "24.21.0" } })',
)}`;

async function scratch(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'node-')));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** How a program ended, and what it said. */
async function ran(args: readonly string[], cwd: string, env: Record<string, string>) {
  const options = { cwd, env: { PATH: process.env['PATH'], ...env } };
  const run = promisify(execFile)(process.execPath, args, options);
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      stdout,
      stderr,
    }),
  );
}

describe('an older Node', () => {
  test('says what to type instead', async () => {
    const { code, stderr } = await ran(['src/main.ts', 'check', '--config', 'my config.yaml'], root, {
      NODE_OPTIONS: olderNode,
    });
    expect(code).toBe(1);
    expect(stderr).toBe(
      'This is Node 24.21.0. Candidate Connector needs Node 26; type:\n' +
        '  npx node src/main.ts check --config "my config.yaml"\n',
    );
  });

  test.each([
    ['nothing is installed', [], 'npm ci'],
    ['scripts were left out', ['node'], 'npm rebuild node --ignore-scripts=false'],
  ])('says where %s what brings the right one', async (_, installed, command) => {
    const folder = await scratch();
    await cp(join(root, 'src/support'), join(folder, 'src/support'), { recursive: true });
    for (const name of installed) await mkdir(join(folder, 'node_modules', name), { recursive: true });
    // What npm's scripts begin with. It is all that an older Node without types has to read.
    const args = ['src/support/npm/run.js', 'src/main.ts', 'serve'];
    const { code, stderr } = await ran(args, folder, { NODE_OPTIONS: olderNode });
    expect([code, stderr.split('\n')[1]]).toEqual([1, `  ${command}`]);
  });
});

describe("npm's scripts", () => {
  test('are commands in the shell of every system', () => {
    for (const script of Object.values(manifest.scripts))
      for (const command of script.split(' && '))
        expect(command).toMatch(/^(?!export |exec )[a-z]+( [\w./:-]+)*( > [\w.]+)?$/);
  });

  test('hand arguments on, and find compiled what a start before them left', async () => {
    const env = { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
    const args = ['src/support/npm/run.js', 'src/main.ts', 'explain', '--help'];
    const first = await ran(args, root, env);
    expect(first.stdout + first.stderr).toContain('candidate-connector explain');
    // Others compile at the same time, and one of two writes of the same is lost.
    await eventually(async () => {
      const { stdout, stderr } = await ran(args, root, env);
      expect((stdout + stderr).match(/src\/commands\/\S+ was accepted/g)?.length).toBeGreaterThan(3);
      expect(stdout + stderr).not.toMatch(/src\/\S+ was not/);
    });
  });

  test('end with the shell in between, which passes no signal on', async () => {
    const folder = await scratch();
    const file = join(folder, 'stays.js');
    await writeFile(
      file,
      "process.on('SIGTERM', () => process.exit(console.log('told'))); setInterval(() => {}, 1000); console.log('up');",
    );
    const shell = spawn('sh', ['-c', `'${process.execPath}' src/support/npm/run.js ${file}; exit 3`], {
      cwd: root,
    });
    const [first] = (await once(shell.stdout, 'data')) as [Buffer];
    expect(String(first)).toBe('up\n');
    shell.kill();
    expect(await text(shell.stdout)).toBe('told\n');
  });
});
