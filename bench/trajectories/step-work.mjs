export function kindOfStep({ tool, kind }) {
  if (kind !== undefined) return tool === 'edit' ? 'change' : tool === 'verify' ? 'check' : 'other'
  return undefined
}
