import { parseArgs, type ParseArgsConfig } from 'node:util';

/**
 * Reads the options of a script for developers. Prints `usage` and ends the process for `--help`, and with 2 for options that it
 * does not have. `whole` reads a number, `refuse` says what else is wrong with the options; both end it likewise.
 */
export function scriptOptions<const Config extends ParseArgsConfig>(usage: string, config: Config) {
  const refuse = (message: string): never => {
    console.error(`${message}\n\n${usage}`);
    return process.exit(2);
  };
  const whole = (name: string, given: string, least = 1, most = 1_000_000_000): number => {
    const value = Number(given);
    if (/^\d+$/.test(given) && value >= least && value <= most) return value;
    return refuse(`--${name} ${given}: a whole number from ${least} to ${most} is needed.`);
  };
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    console.log(usage);
    process.exit(0);
  }
  try {
    return { ...parseArgs(config), refuse, whole };
  } catch (error) {
    if (error instanceof TypeError) return refuse(error.message);
    throw error;
  }
}
