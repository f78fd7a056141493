import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import { onTestFinished, vi } from 'vitest'

/** A key or a certificate in the fixtures, such as `self-signed.cert`. */
export function pem(name: string): string {
  return readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), 'utf8')
}

/** A service behind TLS with one of the certificates in the fixtures. It closes after the test. */
export async function startTls(name: string, text = 'no one gets here'): Promise<string> {
  const server = createServer({ key: pem(`${name}.key`), cert: pem(`${name}.cert`) }, (_request, response) => {
    response.end(text)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())))
  return `https://localhost:${(server.address() as AddressInfo).port}`
}

/** Makes this process trust a certificate until mocks are restored. NODE_EXTRA_CA_CERTS is read only at its start. */
export function trust(certificate: string): void {
  const create = tls.createSecureContext.bind(tls)
  vi.spyOn(tls, 'createSecureContext').mockImplementation((options) => create({ ...options, ca: certificate }))
}
