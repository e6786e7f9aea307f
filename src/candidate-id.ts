/** In characters, not in UTF-16 units. */
export const maxCandidateIdLength = 256;

/**
 * A candidate id as it is kept, wherever it was written (by the sender, in a rule, in a scenario), or what was expected
 * instead. Runs for every request.
 */
export function readCandidateId(text: string): { readonly value: string } | { readonly fault: string } {
  const id = text.trim();
  if (id === '') return { fault: 'at least one character that is not a space' };
  if (id.length > maxCandidateIdLength && Array.from(id).length > maxCandidateIdLength) {
    return { fault: `at most ${maxCandidateIdLength} characters` };
  }
  // They would end a line in a log, an email header or a terminal; text in any script, marks included, is let through.
  if (/\p{Cc}/u.test(id)) return { fault: 'no control characters' };
  if (!id.isWellFormed()) return { fault: 'no half of a surrogate pair' };
  return { value: withoutGuidDress(id) };
}

/** A GUID in any of its usual spellings becomes 32 lowercase hex digits; any other id stays as it is. */
function withoutGuidDress(id: string): string {
  if (id.length < 32 || id.length > 45) return id;
  const bare = /^(?:urn:uuid:(.+)|\{(.+)\}|\((.+)\)|(.+))$/i.exec(id)?.slice(1).find(Boolean) ?? id;
  const isGuid = /^[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}$/i.test(bare);
  return isGuid ? bare.replaceAll('-', '').toLowerCase() : id;
}
