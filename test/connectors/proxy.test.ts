import { afterEach, describe, expect, test, vi } from 'vitest';
import { proxyFor } from '../../src/connector.ts';

afterEach(() => void vi.unstubAllEnvs());

/** As these variables say it, and no others. */
function proxyBy(url: string, variables: { readonly [name: string]: string }): string | null {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) {
    vi.stubEnv(name, variables[name]);
    vi.stubEnv(name.toLowerCase(), undefined);
  }
  return proxyFor(url, undefined);
}

describe('the proxy of the environment', () => {
  test.for([
    ['http://proxy.example:3128', 'http://proxy.example:3128/'],
    ['proxy.example:3128', 'http://proxy.example:3128/'],
    ['proxy.example', 'http://proxy.example/'],
    ['https://ann:p%40ss@proxy.example', 'https://ann:p%40ss@proxy.example/'],
    ['http://ann:50%@proxy.example', 'http://ann:50%25@proxy.example/'],
  ] as const)('is found in %s', ([written, proxy]) => {
    expect(proxyBy('https://a.example', { HTTPS_PROXY: written })).toBe(proxy);
    expect(proxyBy('http://a.example', { HTTPS_PROXY: written })).toBeNull();
  });

  test.for(['socks5://ann:s3cret@proxy.example', 'http://', 'no proxy:s3cret'])(
    'is named where it is none, without its password: %s',
    (written) => {
      const found = () => proxyBy('https://a.example', { HTTPS_PROXY: written });
      expect(found).toThrow(/^HTTPS_PROXY is not the URL of a proxy, such as/);
      expect(found).not.toThrow(/s3cret/);
    },
  );

  test.for([
    ['https://a.example', 'A.Example'],
    ['https://x.a.example', '.a.example'],
    ['https://x.a.example', '*.a.example'],
    ['https://a.example', 'a.example.'],
    ['https://x.a.example', 'other.example  a.example:443'],
    ['https://10.1.2.3', '10.0.0.0/8'],
    ['https://10.1.2.3', '10.1.2.3'],
    ['https://[::1]:8443', '::1'],
    ['https://[::1]:8443', '[::1]'],
    ['https://[::1]:8443', '[::1]:8443'],
    ['https://[fd00::7]', 'fd00::/8'],
  ] as const)('is not for %s with NO_PROXY %s', ([url, except]) => {
    expect(proxyBy(url, { HTTPS_PROXY: 'http://p', NO_PROXY: except })).toBeNull();
  });

  test.for([
    ['https://ba.example', 'a.example'],
    ['https://a.example', 'a.example:80'],
    ['https://a.example', '10.0.0.0/99'],
    ['https://11.1.2.3', '10.0.0.0/8'],
    ['https://[::2]', '::1'],
    ['https://10.example', '10.0.0.0/8'],
    ['https://a.example', ',,'],
  ] as const)('is for %s in spite of NO_PROXY %s', ([url, except]) => {
    expect(proxyBy(url, { HTTPS_PROXY: 'http://p', NO_PROXY: except })).toBe('http://p/');
  });
});
