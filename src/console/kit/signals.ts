/** State. A view that reads a signal is rendered again when it changes. */
export {
  batch,
  computed,
  effect,
  type ReadonlySignal,
  type Signal,
  signal,
  untracked,
} from '@preact/signals-core'
