import { playOf } from '../play.ts';
import { findBreaches } from './books.ts';
import { PlayedSlack, type SlackAction } from './tool.ts';

export const playSlack = playOf<SlackAction, PlayedSlack>((world) => new PlayedSlack(world), findBreaches);
