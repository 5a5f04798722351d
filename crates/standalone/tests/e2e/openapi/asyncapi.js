// Reads an AsyncAPI document with the parser of AsyncAPI's own tools. Fails if it reports an error or a warning.
import { Parser, fromFile } from "@asyncapi/parser";

const { document, diagnostics } = await fromFile(new Parser(), process.argv[2]).parse();
for (const { severity, code, message, path } of diagnostics.filter(({ severity }) => severity < 2)) {
  console.error(severity, code, message, path.join("."));
  process.exitCode = 1;
}
console.log(document.channels().all().map((channel) => channel.address()).join(" "));
