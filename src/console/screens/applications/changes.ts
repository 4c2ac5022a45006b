import type { Application, Destination, Rule } from '../../api/types.ts'
import type { Sentence } from './difference.ts'
import { bodyOf, type Draft, type DraftBody, draftOf, ruleBody, ruleDraft } from './draft.ts'
import { destinationText } from './phrase.ts'

const sentence = (effect: Sentence['effect'], strong: string, text: string): Sentence => ({
  effect,
  parts: [{ strong }, ` ${text}`],
})

/** Names added and removed. */
const nameSentences = (
  before: readonly string[] = [],
  after: readonly string[] = [],
  loses = 'loses',
  gains = 'gains',
): readonly Sentence[] => [
  ...before.filter((name) => !after.includes(name)).map((name) => sentence('loses', loses, name)),
  ...after.filter((name) => !before.includes(name)).map((name) => sentence('gains', gains, name)),
]

type Destinations = DraftBody['destinations']

const textsOf = (list: Destinations = []): readonly string[] =>
  list.map((entry) => destinationText(entry as Destination))

/** An absent list allows any destination. */
const destinationSentences = (
  before: Destinations,
  after: Destinations,
  whose: string,
): readonly Sentence[] => {
  const [old, next] = [textsOf(before), textsOf(after)]
  if (old.length > 0 && next.length === 0)
    return [sentence('reveals', 'may send anywhere', `that egress allows${whose}`)]
  const isNew = (text: string) => !old.includes(text)
  const isGone = (text: string) => !next.includes(text)
  return [
    ...old.filter(isGone).map((text) => sentence('loses', 'may not send to', text + whose)),
    ...next
      .filter(isNew)
      .map((text) =>
        old.length === 0
          ? sentence('loses', 'may send only to', text + whose)
          : sentence('gains', 'may send to', text + whose),
      ),
  ]
}

const guardSentences = (
  before: DraftBody['response_guard'],
  after: DraftBody['response_guard'],
): readonly Sentence[] => {
  if (before === after) return []
  if (after === undefined) return [sentence('changes', 'removes', 'the response guard')]
  return [sentence('changes', 'sets', `the response guard to “${after}”`)]
}

const withoutPriority = ({ priority: _, ...rule }: object & { priority: number }): string =>
  JSON.stringify(rule)

const storedBody = (rule: Rule) => ruleBody(ruleDraft(rule, true))

const ruleSentences = (before: readonly Rule[], { rules }: Draft): readonly Sentence[] => {
  const named = (rule: Pick<Rule, 'description'>) => `“${rule.description}”`
  const retained = rules.flatMap(({ stored }) => (stored === undefined ? [] : [stored]))
  const isMoved = before
    .filter((rule) => retained.includes(rule))
    .some((rule, index) => retained[index] !== rule)
  return [
    ...before
      .filter((rule) => !retained.includes(rule))
      .map((rule) => sentence('changes', 'removes', `rule ${named(rule)}`)),
    ...rules.flatMap((rule) => {
      if (rule.stored === undefined) return [sentence('changes', 'adds', `rule ${named(rule)}`)]
      const [old, next] = [storedBody(rule.stored), ruleBody(rule)]
      if (withoutPriority(old) === withoutPriority(next)) return []
      return [
        sentence('changes', 'changes', `rule ${named(rule.stored)}`),
        ...destinationSentences(old.destinations, next.destinations, ` by rule ${named(rule.stored)}`),
      ]
    }),
    ...(isMoved ? [sentence('changes', 'changes', 'the order of rules')] : []),
  ]
}

/** The changes of a draft that the comparison of access does not show. `before` is what the draft was made of. */
export const changesOf = (before: Application, draft: Draft): readonly Sentence[] => {
  const [old, next] = [bodyOf(draftOf(before)), bodyOf(draft)]
  return [
    ...nameSentences(old.permissions, next.permissions),
    ...nameSentences(old.allowed_origins, next.allowed_origins, 'denies pages of', 'allows pages of'),
    ...destinationSentences(old.destinations, next.destinations, ''),
    ...ruleSentences(
      before.rules.toSorted((a, b) => a.priority - b.priority),
      draft,
    ),
    ...guardSentences(old.response_guard, next.response_guard),
    ...(old.name === next.name ? [] : [sentence('changes', 'renames', `it to “${next.name}”`)]),
  ]
}
