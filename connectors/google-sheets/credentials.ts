import { createPrivateKey } from 'node:crypto';
import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { Secret, secret } from '../../src/connector.ts';

/** What a service account's JSON has that signing in needs. */
export interface ServiceAccount {
  readonly email: string;
  readonly key: Secret;
  /** Where tokens come from. Google's own address unless the JSON names another one. */
  readonly tokenUrl: string;
}

const inline = z.looseObject({
  client_email: z.string().describe('The address of the service account.'),
  private_key: secret().describe('Its key, in PEM.'),
  token_uri: z.url().optional().describe("Where tokens come from; Google's own address by default."),
});

/** The service account's JSON, as text or as keys in the YAML, or the path of a file with it. */
export const credentials = z.union([secret(), inline]);
export type Credentials = z.infer<typeof credentials>;

const googleTokenUrl = 'https://oauth2.googleapis.com/token';
const advice = 'credentials has to be the JSON of a service account, or the path of a file with it';

/** Reads and checks the credentials. Rejects with a message that says what to mend and shows nothing of them. */
export async function readAccount(given: Credentials): Promise<ServiceAccount> {
  const { client_email, private_key, token_uri } =
    given instanceof Secret ? parse(await textOf(given.reveal())) : given;
  return { email: client_email, key: usableKey(private_key), tokenUrl: token_uri ?? googleTokenUrl };
}

async function textOf(jsonOrPath: string): Promise<string> {
  if (jsonOrPath.trimStart().startsWith('{')) return jsonOrPath;
  try {
    // A pipe in its place would keep a thread waiting, and there are four.
    return await readFile(jsonOrPath, { encoding: 'utf8', flag: constants.O_RDONLY | constants.O_NONBLOCK });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unreadable';
    throw unusable(`the file that it names cannot be read (${code})`);
  }
}

function parse(text: string): z.infer<typeof inline> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, and with it the key.
    throw unusable('it is no valid JSON');
  }
  const account = inline.safeParse(json);
  if (account.success) return account.data;
  const missing = account.error.issues.map((issue) => issue.path.join('.')).filter(Boolean);
  throw unusable(missing.length > 0 ? `it lacks ${missing.join(', ')}` : 'it is no JSON object');
}

function usableKey(key: Secret): Secret {
  // Line breaks often arrive as the two characters \n when a key went through an environment variable.
  const pem = key.reveal().replaceAll(String.raw`\n`, '\n');
  try {
    createPrivateKey(pem);
  } catch {
    throw unusable('its private_key is no PEM key');
  }
  return new Secret(pem);
}

function unusable(what: string): Error {
  return new Error(`The credentials cannot be used: ${what}; ${advice}.`);
}
