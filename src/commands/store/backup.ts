import { closeSync, lstatSync, openSync, readlinkSync, readSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { copyStore, fileOf } from '../../store/open.ts';
import { CopyFailed, noteBackup, sync } from '../../store/sqlite/backup.ts';
import { command, flag, storeOptions, TypedArgument } from '../command.ts';
import { CommandError, exit, nowAndThen, when } from '../output.ts';
import { storeUrl } from '../with-store.ts';

/** Copies the store to a file, which gets its name only when it is whole. */
export const backup = command({
  name: 'backup',
  description: 'copy the store to a file, also while it is served, and check the copy',
  examples: ['backup /backups/connector.db', 'backup --overwrite /data/backup.db'],
  options: { ...storeOptions, overwrite: flag('--overwrite', 'replace the file if it is there') },
  argument: new TypedArgument<string>('<file>', 'the file to make'),
  async run(options, io, name) {
    const url = options.store ?? (await storeUrl(options, io));
    const file = resolve(name);
    refuse(file, fileOf(url), options.overwrite ?? false);
    const part = `${file}.part`;
    const isTime = nowAndThen();
    const { takenAt, bytes, inode } = await copyStore(url, part, (copied, total) => {
      if (isTime()) io.err(`copied ${sizeText(copied)} of ${sizeText(total)}`);
    }).catch((error: unknown) => {
      throw error instanceof CopyFailed ? new CommandError(`no backup was made: ${error.message}`) : error;
    });
    refuse(file, fileOf(url), options.overwrite ?? false);
    if (statSync(part, { throwIfNoEntry: false })?.ino !== inode)
      throw new CommandError(`another backup to ${file} was begun meanwhile; this one is given up`);
    renameSync(part, file);
    sync(dirname(file));
    if (!noteBackup(fileOf(url), takenAt))
      io.err('the store cannot be written, so the age of its last backup is not shown in the metrics');
    io.out(
      `${file} has everything that was accepted before ${when(takenAt, {})}: ${sizeText(bytes)}, checked.`,
    );
    return exit.ok;
  },
});

/** The endings of the store's other files. */
const ownFiles = /^(-wal|-shm|-journal|\.serving.*)$/;

function refuse(file: string, store: string, overwrite: boolean): void {
  const folder = statSync(dirname(file), { throwIfNoEntry: false });
  if (!folder?.isDirectory()) throw new CommandError(`there is no folder ${dirname(file)} for the backup`);
  const own = basename(file).startsWith(basename(store)) && basename(file).slice(basename(store).length);
  const beside = statSync(dirname(store), { throwIfNoEntry: false });
  // A connector ends if its -wal is replaced.
  if (own && ownFiles.test(own) && folder.ino === beside?.ino && folder.dev === beside.dev)
    throw new CommandError(`${file} belongs to the store itself; name another file for its backup`);
  const named = lstatSync(file, { throwIfNoEntry: false });
  if (named === undefined) return;
  const there = statSync(file, { throwIfNoEntry: false });
  if (there && !there.isFile()) throw new CommandError(`${file} is no file; name one for the backup`);
  const source = statSync(store, { throwIfNoEntry: false });
  if (there && there.ino === source?.ino && there.dev === source.dev)
    throw new CommandError(`${file} is the store itself; name another file for its backup`);
  // The copy would take the place of the link itself, such as /dev/stdout, and not of what it leads to.
  if (named.isSymbolicLink())
    throw new CommandError(`${file} is a link to ${readlinkSync(file)}; name a file for the backup`);
  if (!overwrite)
    throw new CommandError(`${file} is there already; name another file, or add --overwrite to replace it`);
  // Such as the config: `serve` and `check` take that in the same place.
  if (!isDatabase(file))
    throw new CommandError(
      `${file} is no database; name another file for the backup, or remove this one first`,
    );
}

const header = Buffer.from('SQLite format 3\0');

/** Whether a file is SQLite's, or empty, as SQLite makes it. */
function isDatabase(file: string): boolean {
  const start = Buffer.alloc(header.length);
  const opened = openSync(file, 'r');
  try {
    return readSync(opened, start) === 0 || start.equals(header);
  } finally {
    closeSync(opened);
  }
}

const sizeText = (bytes: number): string =>
  bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
