// Says when so many milliseconds are over. Pages that nobody looks at are woken once a minute at most; this is not.
onmessage = ({ data }) => setTimeout(postMessage, data, 'over')
