/** Where programs in the sandbox find the proxy. The sandbox has a loopback of its own, so the port is always free. */
export const proxyPort = 3128

/**
 * Run inside the sandbox before the command: it listens on the sandbox's own loopback and hands the listening socket to
 * this program over the channel between parent and child. Nothing of it stays behind in the sandbox, and no socket of
 * the host is there.
 */
const listen = `const s=require('net').createServer();s.listen(${proxyPort},'127.0.0.1',()=>process.send('proxy',s,()=>process.exit()))`

/** A shell that opens the way to the proxy and then becomes the command. `channel` is the descriptor of the channel. */
export function bridged(node: string, channel: number, file: string, args: readonly string[]): readonly string[] {
  const script = [
    `NODE_OPTIONS= "$0" -e "$1" >/dev/null 2>&1 || echo 'halting: the way to the allowed domains could not be opened' >&2`,
    `exec ${channel}>&-`,
    'unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE',
    'shift',
    'exec "$@"',
  ].join('\n')
  return ['bash', '-c', script, node, listen, file, ...args]
}

/** The variables by which programs find a proxy. */
export function proxyVariables(port: number): Readonly<Record<string, string>> {
  const url = `http://127.0.0.1:${port}`
  const own = 'localhost,127.0.0.1,::1'
  return Object.fromEntries([
    ...['http_proxy', 'https_proxy', 'all_proxy'].flatMap((name) => [
      [name, url],
      [name.toUpperCase(), url],
    ]),
    ['no_proxy', own],
    ['NO_PROXY', own],
  ])
}
