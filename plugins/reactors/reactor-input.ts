import type { Static } from 'typebox'
import { checkApplication, checkConfiguration, codeWarnings, throwIfInvalid } from '#kit'
import { type Caller, type CodeWarning, invalid, type Mutation, type PluginContext } from '#sdk'
import { releaseFormula, withReactor } from './acting-reactors.ts'
import { Formulas, type ReactorRecord } from './collections.ts'
import type { ElementType } from './parameters.ts'
import type { ReactorInput } from './schemas.ts'

type ReactorMembers = Pick<ReactorRecord, 'name' | 'formula_id' | 'code' | 'application_id' | 'configuration'>

/** The issue of a value for an element. Values may be text, numbers any text (completions §8). */
const issue = (value: unknown, type: ElementType): string | undefined => {
  if (value === undefined || value === null) return 'is required by the formula'
  switch (type) {
    case 'number':
      return typeof value === 'number' || typeof value === 'string' ? undefined : 'must be a number'
    case 'boolean':
      return typeof value === 'boolean' || value === 'true' || value === 'false'
        ? undefined
        : 'must be true or false'
    case 'string':
      return typeof value === 'string' ? undefined : 'must be a string'
  }
}

/**
 * A valid request in stored form, with warnings about its code. `formulaMutations` are committed together with the
 * reactor `id`: they list it in its formula, and fail when the formula was changed or deleted since. Throws `invalid`,
 * `forbidden`.
 */
export const parseReactor = async (
  context: PluginContext,
  caller: Caller,
  id: string,
  input: Static<typeof ReactorInput>,
  before?: ReactorRecord,
): Promise<{
  readonly members: ReactorMembers
  readonly warnings: CodeWarning[]
  readonly formulaMutations: readonly Mutation[]
}> => {
  const { tenantId } = caller
  const { name, formula, code, application } = input
  const configuration = input.configuration ?? {}
  checkConfiguration(configuration)
  if (formula && typeof code === 'string')
    throw invalid({ code: ['must not be sent together with a formula: a reactor has one of both'] })
  if (!formula && typeof code !== 'string') throw invalid({ formula: ['is required unless there is code'] })
  const change = { from: before && inputOf(before), to: input }
  if (application) await checkApplication(context, caller, application.id, change)
  const members = {
    name,
    configuration,
    ...(application ? { application_id: application.id } : {}),
  }
  const released =
    before === undefined || before.formula_id === formula?.id
      ? []
      : await releaseFormula(context, tenantId, before)
  if (!formula) {
    const warnings = await codeWarnings(context, tenantId, { code: code ?? undefined })
    return { members: { ...members, ...(code ? { code } : {}) }, warnings, formulaMutations: released }
  }
  const formulas = context.records(Formulas)
  const stored = await formulas.read(tenantId, formula.id)
  if (stored === undefined) throw invalid({ 'formula.id': ['must be the id of a formula of this tenant'] })
  throwIfInvalid(
    stored.record.configuration.map(({ name: element, type }) => [
      `configuration.${element}`,
      issue(Object.hasOwn(configuration, element) ? configuration[element] : undefined, type),
    ]),
  )
  return {
    members: { ...members, formula_id: formula.id },
    warnings: [],
    formulaMutations: [
      ...released,
      formulas.replaceMutation(
        tenantId,
        withReactor(stored.record, id, Boolean(application)),
        stored.version,
      ),
    ],
  }
}

/** A stored reactor as the request that creates it: the target of a merge patch. */
export const inputOf = (reactor: ReactorRecord): Static<typeof ReactorInput> => ({
  name: reactor.name,
  ...(reactor.formula_id ? { formula: { id: reactor.formula_id } } : {}),
  ...(reactor.code ? { code: reactor.code } : {}),
  ...(reactor.application_id ? { application: { id: reactor.application_id } } : {}),
  configuration: reactor.configuration,
})
