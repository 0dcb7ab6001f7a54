-- Chinese and Japanese texts are indexed by pairs of characters: their tools are indexed again
UPDATE summaries SET hash = '' WHERE tool_id IN (SELECT id FROM tools WHERE raw GLOB '*[぀-鿿]*');
