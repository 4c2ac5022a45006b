import type { Operation } from '../../sdk/index.ts'
import { createMessages } from '../messages/create.ts'
import type { LoadedPlugin } from '../types.ts'
import { type Issue, issuesAt } from './issues.ts'
import { placeOf } from './plugin.ts'

/** Other operations have issues that are reported elsewhere. */
const isNamed = ({ rpc, http }: Operation) => typeof rpc === 'string' && typeof http === 'string'

/** Issues of the gRPC messages of operations: duplicate names, reserved names and numbers. */
export const checkMessages = (loaded: readonly LoadedPlugin[], issues: Issue[]): void => {
  const all = loaded.flatMap(({ plugin, contribution }) =>
    (contribution.operations ?? []).filter(isNamed).map((operation) => ({ plugin, operation })),
  )
  for (const { rpc, problem, fix } of createMessages(all.map(({ operation }) => operation)).issues) {
    const owner = all.find(({ operation }) => operation.rpc === rpc)
    const place = owner === undefined ? '' : `${placeOf(owner.plugin)} › `
    issuesAt(`${place}operation "${rpc}"`, issues).add(problem, fix)
  }
}
