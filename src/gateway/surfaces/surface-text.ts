/** Texts of a request's head, each with the surface that it is on; errors name the surface, never the text. */
import { needsPlaces, withPlaces } from '../../common/error-places.ts'
import { AppError } from '../../common/errors.ts'
import type { Surface } from '../../sdk/index.ts'
import type { EncodedText } from './encoded-text.ts'

export interface SurfaceText extends EncodedText {
  readonly surface: Surface
}

/** Runs `work`; an error of its expressions names the surface. */
const placed = <Result>(surface: Surface, work: () => Result): Result => {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof AppError && needsPlaces(thrown)) throw withPlaces(thrown, [surface])
    throw thrown
  }
}

/** Throws `invalid_expression` with the surface. */
export const inSurface = (surface: Surface, parse: () => EncodedText): SurfaceText => {
  const text = placed(surface, parse)
  return {
    ...text,
    surface,
    print: (resolve, work, variables) => placed(surface, () => text.print(resolve, work, variables)),
  }
}
