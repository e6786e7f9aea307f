import { z } from 'zod';

// STOPGAP by the lead so that integration can begin: the helper who owns src/rules replaces this file.
export const whenSchema = z.record(z.string(), z.unknown());
export type When = z.infer<typeof whenSchema>;
