import type { Command } from 'commander'
import { AppError } from '../common/errors.ts'
import { StartError } from '../supervisor/start-error.ts'
import { print } from './run-command.ts'

/** `sidevault bundle`: reads no configuration. */
export const addBundleCommand = (root: Command): void => {
  root
    .command('bundle')
    .description(
      'write this program, its packages, Node and Envoy into one archive for this platform, which starts without a network; prints its SHA-256. Equal checkouts make equal archives',
    )
    .requiredOption('--out <file>', 'a new file: .tar.gz or .tar.xz')
    .action(async ({ out }: { out: string }) => {
      const { runBundle } = await import('../maintenance/bundle.ts')
      try {
        await runBundle(out, print)
      } catch (thrown) {
        if (thrown instanceof AppError) throw new StartError(thrown.message)
        throw thrown
      }
    })
}
