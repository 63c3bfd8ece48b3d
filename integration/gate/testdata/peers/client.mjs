// A client of @modelcontextprotocol/client: node client.mjs URL TOKEN VERSION TOOL ARGUMENTS.
// VERSION is a modern revision, legacy or auto. It prints the link that it is asked to open, waits for a line, and prints the text of the result.
import { createInterface } from 'node:readline'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const require = createRequire(process.env.PEERS + '/')
const load = async (name) => import(pathToFileURL(require.resolve(name)))
const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client')

const [url, token, version, tool, text] = process.argv.slice(2)
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const client = new Client({ name: 'agent', version: '1.0.0' }, {
  capabilities: { elicitation: { url: {} } },
  versionNegotiation: { mode: ['auto', 'legacy'].includes(version) ? version : { pin: version } },
})
client.setRequestHandler('elicitation/create', async ({ params }) => {
  console.log('open ' + params.url)
  await lines.next()
  return { action: 'accept' }
})
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: 'Bearer ' + token } } }))
try {
  const result = await client.callTool({ name: tool, arguments: JSON.parse(text) })
  console.log((result.isError ? 'refused ' : 'result ') + JSON.stringify(result.content[0].text))
} catch (error) {
  console.log('error ' + JSON.stringify(String(error)))
}
process.exit(0)
