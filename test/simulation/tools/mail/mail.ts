import { playOf } from '../play.ts';
import { findBreaches } from './books.ts';
import { PlayedMail, type MailAction } from './tool.ts';

export const playMail = playOf<MailAction, PlayedMail>(
  (world, forgetful) => new PlayedMail(world, forgetful),
  findBreaches,
);
