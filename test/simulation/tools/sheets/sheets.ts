import { playOf } from '../play.ts';
import { findBreaches } from './books.ts';
import { PlayedSheets, type SheetAction } from './tool.ts';

export const playSheets = playOf<SheetAction, PlayedSheets>(
  (world, forgetful) => new PlayedSheets(world, forgetful),
  findBreaches,
);
