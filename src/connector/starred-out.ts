/** Shorter ones would star out ordinary words. */
const shortestSecret = 4;

/** A function that stars these secrets out of what a tool said: some repeat what they were sent. */
export function starredOut(secrets: readonly string[]): (text: string) => string {
  // Longest first, so that none is left half visible.
  const known = secrets
    .filter(({ length }) => length >= shortestSecret)
    .toSorted((a, b) => b.length - a.length);
  return (text) => known.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}
