import { type Command, Option } from 'commander'
import { configOption, USAGE } from './run-command.ts'

/** `sidevault proto`: for authors of gRPC clients. */
export const addProtoCommand = (root: Command): void => {
  root
    .command('proto')
    .description(
      'write the .proto files of the operations of all plugins; exit code 2 when field numbers changed',
    )
    .addOption(new Option('--out <folder>', 'where to write sidevault/v1/*.proto').default('proto'))
    .addOption(configOption())
    .action(async (options: { out: string; config?: string }) => {
      const { writeProtos } = await import('./proto/write.ts')
      if (await writeProtos(process.env, options, (text) => process.stdout.write(text)))
        process.exitCode = USAGE
    })
}
