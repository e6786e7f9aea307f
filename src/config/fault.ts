/** Keys and indexes from the top of the config to a value. */
export type Path = readonly (string | number)[];

/** Something wrong at a path of the config. Where that is in the file is found out later, by Source. */
export interface Fault {
  readonly severity: 'error' | 'warning';
  readonly path: Path;
  /** What to point at: the value, or the key that it stands under. */
  readonly at: 'value' | 'key';
  readonly message: string;
  /** Points into the string at the path: the index of its first wrong character, and how many are wrong. */
  readonly inside?: { readonly index: number; readonly length: number };
}

export type Report = (fault: Fault) => void;

export const error = (path: Path, message: string, at: Fault['at'] = 'value'): Fault => ({
  severity: 'error',
  path,
  at,
  message,
});

export const warning = (path: Path, message: string, at: Fault['at'] = 'value'): Fault => ({
  severity: 'warning',
  path,
  at,
  message,
});

/** `rules[0].then[1].text`, for where there is no file to point into. */
export function pathText(path: Path): string {
  return path
    .map((part, index) => (typeof part === 'number' ? `[${part}]` : index === 0 ? part : `.${part}`))
    .join('');
}
