/** Sends SIGKILL to a process that may have exited. */
export const killQuietly = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it has exited
  }
}
