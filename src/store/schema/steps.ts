import { readFileSync } from 'node:fs';

/** The steps of a database's schema as SQL, oldest first. A store counts those that it has taken. */
function stepsOf(database: 'sqlite' | 'postgres'): readonly string[] {
  const text = readFileSync(new URL(`./${database}.sql`, import.meta.url), 'utf8');
  return text.split(/^-- step \d+$/m).slice(1);
}

export const sqliteSteps = stepsOf('sqlite');
export const postgresSteps = stepsOf('postgres');
