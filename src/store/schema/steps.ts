import { readFileSync } from 'node:fs';

/** The steps of a database's schema as SQL, oldest first. A store counts those that it has taken. */
const stepsOf = (file: URL): readonly string[] =>
  readFileSync(file, 'utf8')
    .split(/^-- step \d+$/m)
    .slice(1);

export const sqliteSteps = stepsOf(new URL('./sqlite.sql', import.meta.url));
export const postgresSteps = stepsOf(new URL('./postgres.sql', import.meta.url));
