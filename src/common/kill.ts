/** SIGKILL for a process that may be gone already. */
export const killQuietly = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it is gone
  }
}
