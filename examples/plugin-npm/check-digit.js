const VALUES = '0123456789.ABCDEFGH..JKLMN.P.R..STUVWXYZ'
const WEIGHTS = '8765432X098765432'

/**
 * The ninth character of a vehicle identification number, as North America computes it (49 CFR 565.15).
 * @param {string} vin seventeen characters
 */
export const checkDigit = (vin) => {
  let sum = 0
  for (const [place, character] of [...vin].entries()) {
    const weight = WEIGHTS[place] === 'X' ? 10 : Number(WEIGHTS[place])
    sum += (VALUES.indexOf(character) % 10) * weight
  }
  return sum % 11 === 10 ? 'X' : String(sum % 11)
}
