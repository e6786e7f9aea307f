/** `1 error`, `2 errors`; for words whose plural ends in s. */
export const count = (many: number, word: string): string => `${many} ${word}${many === 1 ? '' : 's'}`;
