/** A hint for an address of `--cluster` at which no engine accepts requests. */
export const engineHint =
  '--cluster is the address where the engine accepts requests, usually port 8080. Is it running?'
