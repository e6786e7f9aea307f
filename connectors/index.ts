import type { AnyConnector } from '../src/connector.ts';
import { email } from './email/index.ts';
import { googleSheets } from './google-sheets/index.ts';
import { slack } from './slack/index.ts';
import { webhook } from './webhook/index.ts';

const all: readonly AnyConnector[] = [slack, googleSheets, email, webhook];

/** Every connector by the name it has in the YAML. Client libraries are loaded by `connect`, not by this import. */
export const connectors: ReadonlyMap<string, AnyConnector> = new Map(
  all.map((connector) => [connector.name, connector]),
);
