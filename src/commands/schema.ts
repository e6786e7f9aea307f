import { connectors } from '../../connectors/index.ts';
import { jsonSchemaText } from '../config/json-schema.ts';
import { exit, type Io } from './io.ts';

export async function schema(io: Io): Promise<number> {
  io.out(jsonSchemaText(connectors).trimEnd());
  return exit.ok;
}
