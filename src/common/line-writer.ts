import { constants, fstatSync, openSync, writeSync } from 'node:fs'

/** Characters buffered for a slow reader. */
const RETAINED = 1024 * 1024
/** PIPE_BUF: writes of up to this many bytes are atomic, so lines of several processes do not mix. */
const ATOMIC = 4096
/** ms until the next write to a blocked reader. */
const RETRY_MS = 50

const notice = (dropped: number): string =>
  `${JSON.stringify({
    level: 'warn',
    time: new Date().toISOString(),
    dropped,
    msg: 'log lines dropped: stderr is blocked',
  })}\n`

const countOf = (lines: string): number => lines.split('\n').length - 1

/** Length of the complete lines that fit one atomic write, or of the first line when it alone is longer. */
const head = (lines: string): number => {
  if (lines.length <= ATOMIC) return lines.length
  const last = lines.lastIndexOf('\n', ATOMIC - 1)
  return (last === -1 ? lines.indexOf('\n') : last) + 1
}

/**
 * Descriptor for non-blocking writes. A pipe is reopened, because processes that share a description also share its
 * flags. A socket cannot be reopened; Node's stream has already set its flag.
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
 * Writes complete lines to a pipe, socket, terminal or file without ever blocking: an unread log must not delay a
 * payment or the exit of the process. Lines beyond the buffer are dropped, and a later line has their count. A closed
 * reader is no error.
 */
export const createLineWriter = (stream: { readonly fd: number }) => {
  const fd = ownDescriptor(stream.fd)
  let retained = ''
  let rest: Uint8Array = Buffer.alloc(0)
  let dropped = 0
  let gone = false
  let timer: NodeJS.Timeout | undefined

  /** False when the reader is blocked. */
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
        timer ??= setTimeout(again, RETRY_MS).unref()
        return
      }
      if (dropped > 0 && retained === '') {
        retained = notice(dropped)
        dropped = 0
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
      if (dropped > 0 || retained.length + lines.length > RETAINED) dropped += countOf(lines)
      else retained += lines
      if (timer === undefined) pump()
    },
  }
}
