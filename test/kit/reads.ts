/**
 * How many characters strings were asked for while `work` ran: one at a time, or searched through by `indexOf` and
 * patterns.
 */
export const charactersRead = (work: () => void): number => {
  const text = String.prototype
  const pattern = RegExp.prototype
  const { charCodeAt, indexOf } = text
  const { exec } = pattern
  let read = 0
  text.charCodeAt = function (at) {
    read++
    return charCodeAt.call(this, at)
  }
  text.indexOf = function (sought, from = 0) {
    const index = indexOf.call(this, sought, from)
    read += (index < 0 ? this.length : index + sought.length) - from
    return index
  }
  pattern.exec = function (subject) {
    const from = this.global || this.sticky ? this.lastIndex : 0
    const match = exec.call(this, subject)
    const end = match ? match.index + match[0].length : this.sticky ? from + 1 : subject.length
    read += Math.max(1, end - from)
    return match
  }
  try {
    work()
  } finally {
    Object.assign(text, { charCodeAt, indexOf })
    pattern.exec = exec
  }
  return read
}
