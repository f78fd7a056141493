/** What helps where nothing at the address of `--cluster` takes requests for sessions. */
export const engineHint = '--cluster is the address where the engine takes requests, usually port 8080. Is it running?'
