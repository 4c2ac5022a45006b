import { constants, fstatSync, openSync, writeSync } from 'node:fs'

/** Characters kept for a reader that is behind. */
const RETAINED = 1024 * 1024
/** Bytes written at once: a pipe takes so many whole or not at all, so lines of several processes do not mix. */
const ATOMIC = 4096
/** ms after which a reader that was behind is tried again. */
const AGAIN = 50

const notice = (lost: number): string =>
  `${JSON.stringify({
    level: 'warn',
    time: new Date().toISOString(),
    lost,
    msg: 'lines of the log were lost, since nobody read them in time',
  })}\n`

const countOf = (lines: string): number => lines.split('\n').length - 1

/** Length of as many whole lines as are written at once, or of the first when it alone is more. */
const head = (lines: string): number => {
  if (lines.length <= ATOMIC) return lines.length
  const last = lines.lastIndexOf('\n', ATOMIC - 1)
  return (last === -1 ? lines.indexOf('\n') : last) + 1
}

/**
 * A pipe is opened once more, for writes that return at once: the flags of what several processes share are set back by
 * each that ends. A socket cannot be opened; it has the flag from Node's own stream.
 */
const ownDescriptor = (fd: number): number => {
  try {
    const { O_APPEND, O_NONBLOCK, O_WRONLY } = constants
    return fstatSync(fd).isFIFO() ? openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_APPEND | O_NONBLOCK) : fd
  } catch {
    return fd
  }
}

/**
 * Writes whole lines to a pipe, socket, terminal or file, and never waits for whoever reads it: a log that nobody collects
 * must not hold up a payment, nor the end of the process. Lines for which there is no room in `KEPT` are dropped, and
 * counted in a line that follows. A reader that is gone is no error.
 */
export const createLineWriter = (stream: { readonly fd: number }) => {
  const fd = ownDescriptor(stream.fd)
  let retained = ''
  let rest: Uint8Array = Buffer.alloc(0)
  let lost = 0
  let gone = false
  let timer: NodeJS.Timeout | undefined

  /** False when there is no room now. */
  const wrote = (): boolean => {
    try {
      rest = rest.subarray(writeSync(fd, rest))
      return rest.length === 0
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EAGAIN') return false
      gone = code === 'EPIPE'
      rest = rest.subarray(rest.length)
      return true
    }
  }

  const pump = () => {
    while (!gone && (rest.length > 0 || retained !== '')) {
      if (rest.length === 0) {
        const length = head(retained)
        rest = Buffer.from(retained.slice(0, length))
        retained = retained.slice(length)
      }
      if (!wrote()) {
        timer ??= setTimeout(again, AGAIN).unref()
        return
      }
      if (lost > 0 && retained === '') {
        retained = notice(lost)
        lost = 0
      }
    }
  }
  const again = () => {
    timer = undefined
    pump()
  }

  return {
    /** `lines` end with a line feed. */
    write(lines: string): void {
      if (gone) return
      if (lost > 0 || retained.length + lines.length > RETAINED) lost += countOf(lines)
      else retained += lines
      if (timer === undefined) pump()
    },
  }
}
