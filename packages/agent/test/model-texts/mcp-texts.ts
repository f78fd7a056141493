import type { SamplesOf } from '../../../core/test/support/model-texts.ts'

export const samples: SamplesOf<typeof import('../../src/mcp/mcp-texts.ts')> = {
  undescribedTool: [['list_issues', 'tracker']],
  renamedField: [['a b/c']],
  fieldForms: [
    [['By path: kind = "path", path, [limit]', 'kind = "url", url, [limit]'], 0],
    [['path', 'url'], 3],
  ],
  toolSearchDescription: [['tracker, mail']],
  noToolFits: [['send fax', 'tracker, mail']],
  foundTool: [['mcp__mail__send', 'Sends a message.']],
  imagesLeftOut: [[3]],
  partsLeftOut: [[3]],
  audioBlock: [['audio/wav']],
  resourceLink: [['file:///a.md', 'a.md, text/markdown']],
  resourceText: [['file:///a.md', '# A']],
  emptyPart: [['file:///a.md']],
  binaryResource: [
    ['file:///a.zip', 4_096, 'application/zip'],
    ['file:///a', 4_096, ''],
  ],
  unusableImage: [['It is not a PNG, JPEG, GIF or WebP file.']],
  unknownBlock: [['video']],
  emptyBlock: [['text']],
  middleLeftOut: [[120_000, 25_000]],
  resourceCount: [
    ['tracker', 1],
    ['tracker', 40],
  ],
  moreResources: [[20]],
  resourceServers: [[[]], [['tracker', 'mail']]],
  unknownServer: [['traker', ['tracker', 'mail']]],
  timedOut: [['tracker', 600]],
  connectionLost: [['tracker', 'it ended (exit code 9)']],
  notConnected: [['tracker', 'it ended (exit code 9)']],
  restarted: [['tracker']],
  notPermitted: [['tracker', 'it requires the permission "write": run `halting mcp login tracker`']],
}
