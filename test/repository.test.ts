import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

const root = join(import.meta.dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const { version, license, scripts } = JSON.parse(read('package.json')) as {
  version: string;
  license: string;
  scripts: Record<string, string>;
};

interface Workflow {
  readonly jobs: { readonly [job: string]: { readonly steps: readonly { readonly run?: string }[] } };
}

const commandsOf = (file: string): string[] =>
  Object.values((parse(read(file)) as Workflow).jobs).flatMap(({ steps }) =>
    steps.flatMap(({ run = [] }) => run),
  );

describe('the repository', () => {
  test('has one version, the newest of the changelog', () => {
    const lock = JSON.parse(read('package-lock.json')) as {
      version: string;
      packages: Record<string, object>;
    };
    expect(lock.version).toBe(version);
    expect(lock.packages['']).toMatchObject({ version, license });
    expect(/^## \[(\d.*?)\]/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version);
    expect(read('deploy/kubernetes/kustomization.yaml')).toContain(`newTag: ${version}\n`);
  });

  test('names the licence that it has', () => {
    expect(read('LICENSE')).toContain(`${license} License`);
  });

  test('runs the whole gate for every change, and builds the image that the tag names', () => {
    expect(commandsOf('.github/workflows/ci.yml')).toEqual(['.ci/run']);
    const release = commandsOf('.github/workflows/image.yml').join('\n');
    expect(release).toMatch(/^\.ci\/image ".*:\$\{GITHUB_REF_NAME#v\}" \S+ linux\/amd64,linux\/arm64 >> /m);
  });

  test('installs and starts by what any shell has, that of Windows, too', () => {
    for (const name of ['prepare', 'start', 'demo'])
      expect(scripts[name]).toMatch(/^node [\w./-]+\.[jt]s[\w ./-]*( && node [\w ./-]+)*$/);
  });

  test('has small rooms: no file of the source above 400 lines, no folder above 14 files', () => {
    const files = ['src', 'connectors'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.(ts|js|css|sql)$/.test(file))
        .map((file) => join(folder, file)),
    );
    const folders = Map.groupBy(files, dirname);
    expect(files.filter((file) => read(file).split('\n').length > 401)).toEqual([]);
    expect([...folders].filter(([, held]) => held.length > 14).map(([folder]) => folder)).toEqual([]);
    expect(folders.get('src')?.length).toBeLessThanOrEqual(5);
    expect(files.length).toBeGreaterThan(300);
  });

  test('names in its pages only files and scripts that there are', () => {
    for (const page of ['CONTRIBUTING.md', 'SECURITY.md', 'README.md']) {
      const text = read(page);
      const links = Array.from(text.matchAll(/\]\(([\w./-]+)(?:#[\w-]+)?\)/g), ([, link = '']) => link);
      const paths = Array.from(
        text.matchAll(/`((?:src|connectors|test|docs|bench|\.ci)\/[\w./-]*)`/g),
        ([, path = '']) => path,
      );
      expect([...links, ...paths].filter((file) => !existsSync(join(root, file)))).toEqual([]);
      const named = Array.from(
        text.matchAll(/npm (?:run )?(demo|test|start|(?<=run )[a-z]+)/g),
        ([, script = '']) => script,
      );
      expect(named.filter((script) => !(script in scripts))).toEqual([]);
    }
  });

  test('links in its pages only to headings that there are', () => {
    // As GitHub makes them.
    const anchorsOf = (page: string) =>
      Array.from(read(page).matchAll(/^#+ (.*)$/gm), ([, heading = '']) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      );
    const docs = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'));
    const pages = ['CONTRIBUTING.md', 'SECURITY.md', 'README.md', ...docs.map((file) => `docs/${file}`)];
    const broken = pages.flatMap((page) =>
      Array.from(read(page).matchAll(/\]\(([\w./-]*)#([\w-]+)\)/g))
        .filter(([, file = '', anchor = '']) => {
          const target = file === '' ? page : join(dirname(page), file);
          return !anchorsOf(target).includes(anchor);
        })
        .map(([link]) => `${page}: ${link}`),
    );
    expect(broken).toEqual([]);
  });
});
